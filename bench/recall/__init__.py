"""How well recall brings back what matters: public conversations with known answers."""
