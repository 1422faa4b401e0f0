"""What ``afterthought doctor`` looks at, one dependency at a time; each finding says how to mend what is not well."""
