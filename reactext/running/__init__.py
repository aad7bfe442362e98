"""How a call is carried out: its time limit, its thread, its process, its place in the queue."""
