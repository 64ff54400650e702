/** Rules about any file: nothing of the author's machine is in the checkout. */

/** A tilde stands in what offends, so that this file and its test do not offend themselves. */
export const withoutTildes = (text: string): string => text.replaceAll("~", "");

const MACHINE = new RegExp(
  withoutTildes("(?<![.\\w])/(work|home|root|Users)/[a-z]|\\bregistry\\.[a-z]|artifact~ory|verdac~cio"),
);

/** Where the text names a folder or a registry of its author; -1: nowhere. */
export const authorsMachine = (text: string): number => text.search(MACHINE);

/** What a lock file must not hold: the registry is the choice of the user who installs. */
export function registriesIn(text: string): readonly string[] {
  const { lockfileVersion } = JSON.parse(text) as { readonly lockfileVersion?: unknown };
  return [
    ...(lockfileVersion === 3 ? [] : [`lockfileVersion ${String(lockfileVersion)}`]),
    ...(/"resolved": "[a-z+]+:/.exec(text) ?? []),
  ];
}
