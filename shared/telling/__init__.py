"""Events as listeners are told of them: with the text they are about, looked up at that moment."""
