"""Durable storage, in rooms: each exports what others may use."""
