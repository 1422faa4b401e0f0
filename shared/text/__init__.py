"""The one stack for text: lines and shortening, sentences, words and stems, likeness of statements."""
