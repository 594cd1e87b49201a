"""The claims of the lessons that this laboratory grew out of, each measured when it is asked."""
