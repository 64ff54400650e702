/** Types of `asl-validator`, which the package lacks. */
declare module "asl-validator" {
  const validate: (definition: unknown) => { readonly isValid: boolean; errorsText(separator?: string): string };
  export = validate;
}
