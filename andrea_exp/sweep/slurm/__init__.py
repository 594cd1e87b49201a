"""A sweep on a Slurm cluster: handed over through submitit, and followed through `squeue`."""
