"""The protocol that recall is judged by: see design note "Recall that generalises", section 4."""
