/** What may be wrong with options of several topologies, in words. The options may come from JavaScript. */

/** Each of these roles needs instructions. */
export const problemsOfRoles = (roles: {
  readonly [name: string]: { readonly instructions: string } | undefined;
}): readonly string[] =>
  Object.entries(roles).flatMap(([name, role]) =>
    typeof role?.instructions !== "string" || role.instructions === "" ? [`${name} has no instructions`] : [],
  );

/** The value has to be a whole number, `least` or more. */
export const problemOfWhole = (name: string, value: number, least: number): readonly string[] =>
  Number.isSafeInteger(value) && value >= least ? [] : [`${name} ${value}: write a whole number, ${least} or more`];

/** The value has to be a whole number within the range. */
export const problemOfRange = (
  name: string,
  value: number,
  [least, most]: readonly [number, number],
): readonly string[] =>
  Number.isSafeInteger(value) && value >= least && value <= most
    ? []
    : [`${name} is ${String(value)}: write a whole number from ${least} to ${most}`];
