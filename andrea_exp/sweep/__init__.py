"""From a grid to frozen run directories, executed one after the other."""
