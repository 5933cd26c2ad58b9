"""Model files whose tensor types have no fast kernel on this processor, written anew once."""
