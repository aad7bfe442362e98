"""The rooms in which a model's text is read, from single characters up to a turn."""
