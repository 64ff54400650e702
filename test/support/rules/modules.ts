/** Rules about what several files import together. */
import type { Import, Module } from "./source.ts";

/** Import cycles, each once, as a path. In published code, type imports count, too. */
export function cycles(modules: readonly Module[]): readonly string[] {
  const counts = (path: string, { erased, ours }: Import): boolean => ours && (!erased || !path.startsWith("test/"));
  const loads = new Map(modules.map(({ path, imports }) => [path, imports.filter((each) => counts(path, each))]));
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) found.push([...trail.slice(start), path].join(" → "));
    if (start >= 0 || done.has(path)) return;
    for (const { from } of loads.get(path) ?? []) visit(from, [...trail, path]);
    done.add(path);
  };
  for (const { path } of modules) visit(path, []);
  return found;
}

/** Every file that a process loads which starts with that one. Imports of types load nothing. */
export function loadedBy(modules: readonly Module[], entry: string): ReadonlySet<string> {
  const imports = new Map(modules.map((each) => [each.path, each.imports]));
  const loaded = new Set([entry]);
  for (const path of loaded) {
    for (const { from, ours, erased } of imports.get(path) ?? []) if (ours && !erased) loaded.add(from);
  }
  return loaded;
}

/** Code that pauses, kills or watches a process. */
const CHAOS = /^src\/(chaos|testing)\/|pause-at-fault-point/;
/** Where processes of a production begin. */
const PRODUCTION = /^functions\/[^/]+\.ts$|^src\/compose\/workers\/worker\.ts$/;

export const isProduction = ({ path }: Module): boolean => PRODUCTION.test(path);

/** The files for chaos that a process loads which starts with that one. */
export const chaosIn = (modules: readonly Module[], entry: string): readonly string[] =>
  [...loadedBy(modules, entry)].filter((path) => CHAOS.test(path));
