/** JSON as a type: the values that cairn hashes, stores and passes across boundaries. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
