/** Chooses the mutants that a diff touches. It reads test files for their imports, and changes nothing. */
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { type Mutant, ROOT, type Suite, testsOf } from "./table.ts";

export interface Diff {
  /** The paths from the root of all files that differ, deleted and new ones included. */
  readonly paths: ReadonlySet<string>;
  /** The table before the diff. */
  readonly before: readonly Mutant[];
}

export interface Choice {
  /** Their source, their suite or their own row is in the diff. */
  readonly touched: readonly Mutant[];
  /** Something that their suite loads from `test` or `scripts` is in the diff. A shared helper may choose hundreds. */
  readonly nearby: readonly Mutant[];
}

export function chooseMutants(mutants: readonly Mutant[], { paths, before }: Diff, root = ROOT): Choice {
  const rowsBefore = new Set(before.map(rowOf));
  const loads = createLoads(root);
  const isTouched = (mutant: Mutant): boolean =>
    !rowsBefore.has(rowOf(mutant)) ||
    mutant.changes.some(({ file }) => paths.has(file)) ||
    isSuiteTouched(mutant.killedBy, paths, root);
  const touched = new Set(mutants.filter(isTouched));
  const isNearby = ({ killedBy }: Mutant): boolean => loads(entryOf(killedBy, root)).some((file) => paths.has(file));
  return { touched: [...touched], nearby: mutants.filter((mutant) => !touched.has(mutant) && isNearby(mutant)) };
}

/** What a row says: a row that only stands on another line is the same. */
const rowOf = ({ name, changes, killedBy }: Mutant): string => JSON.stringify({ name, changes, killedBy });

const SIMULATION = "test/simulation/";

const isSuiteTouched = (suite: Suite, paths: ReadonlySet<string>, root: string): boolean =>
  suite.kind === "simulation"
    ? [...paths].some((path) => path.startsWith(SIMULATION))
    : paths.has(testsOf(suite, root).file);

const entryOf = (suite: Suite, root: string): string =>
  suite.kind === "simulation" ? "scripts/sim.ts" : testsOf(suite, root).file;

/** Sources are left out: nearly every suite loads most of them, and each mutant names the sources that matter to it. */
const FOLLOWED = /^(test|scripts)\//;
/** Imports and exports that load a file of ours at run time, as `oxfmt` writes them. */
const LOADING = /^(?:import|export)\b(?! type\b)[^;"]*?(?:\bfrom )?"(\.[^"]+)"|\bimport\("(\.[^"]+)"\)/gm;

/** The files of `test` and `scripts` that a file loads, itself included. */
function createLoads(root: string): (entry: string) => readonly string[] {
  const imports = new Map<string, readonly string[]>();
  const closures = new Map<string, readonly string[]>();
  const importsOf = (file: string): readonly string[] => {
    const known = imports.get(file) ?? readImports(root, file);
    imports.set(file, known);
    return known;
  };
  return (entry) => {
    const seen = new Set([entry]);
    // A set goes on to what is added to it meanwhile.
    if (!closures.has(entry)) for (const file of seen) for (const each of importsOf(file)) seen.add(each);
    const closure = closures.get(entry) ?? [...seen];
    closures.set(entry, closure);
    return closure;
  };
}

function readImports(root: string, file: string): readonly string[] {
  const path = join(root, file);
  if (!existsSync(path)) return [];
  return [...readFileSync(path, "utf8").matchAll(LOADING)]
    .map(([, first, second]) => posix.join(posix.dirname(file), first ?? second ?? ""))
    .filter((each) => FOLLOWED.test(each));
}
