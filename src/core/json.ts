/** JSON as a type: what may cross a boundary, be hashed and be stored. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
