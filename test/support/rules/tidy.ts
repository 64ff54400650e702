/**
 * Checks every rule in a checkout. Each file is read once, parsed once and walked once for all of its rules; of a file,
 * only its imports are kept.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { authorsMachine, registriesIn } from "./machine.ts";
import { chaosIn, cycles, isProduction } from "./modules.ts";
import type { Finding, Rule } from "./rules.ts";
import { type Module, filesBelow, lineOf, readSource } from "./source.ts";
import { RULES } from "./table.ts";

/** A rule as far as a report names it. */
type Law = Pick<Rule, "says" | "todo">;

interface Violation extends Finding {
  readonly path: string;
  readonly law: Law;
}

const TEXT_MAX = 60;

/** The violations in one file, by line, and what rules about several files need of it. */
export function inspect(path: string, text: string, all: readonly Rule[] = RULES) {
  const rules = all.filter(({ where }) => where.test(path));
  const violations: Violation[] = [];
  const source = readSource(path, text, (node, walked) => {
    for (const law of rules) {
      if (law.check.node?.(node, walked) !== true) continue;
      const [what = ""] = walked.text.slice(node.start, node.end).split("\n", 1);
      violations.push({ path, line: lineOf(walked, node.start), what: what.slice(0, TEXT_MAX), law });
    }
  });
  for (const law of rules) {
    for (const found of law.check.file?.(source) ?? []) violations.push({ ...found, path, law });
  }
  const module: Module = { path, imports: source.imports };
  return { module, violations: violations.toSorted((one, other) => one.line - other.line) };
}

const WITHOUT_CHAOS: Law = {
  says: "production loads no code that pauses, kills or watches a process",
  todo: "import such code in src/chaos, src/testing or a worker of theirs alone",
};
const WITHOUT_CYCLE: Law = {
  says: "no files import each other in a circle, not even types",
  todo: "move what both need into a file that imports neither",
};
const WITHOUT_MACHINE: Law = {
  says: "nothing of the author's machine is in the checkout",
  todo: "write a path from the root of the checkout, and name no registry",
};
const WITHOUT_REGISTRY: Law = {
  says: "the lock file leaves the choice of registry to the user who installs",
  todo: "run npm install with the setting omit-lockfile-registry-resolved",
};

/** The rules about several files, and about files of any kind. */
export const LAWS: readonly Law[] = [WITHOUT_CHAOS, WITHOUT_CYCLE, WITHOUT_MACHINE, WITHOUT_REGISTRY];

const LOCKFILE = "package-lock.json";

/** Every violation in the checkout, and how many files were read. */
export function tidy(root: string): { readonly files: number; readonly violations: readonly Violation[] } {
  const paths = filesBelow(root);
  const modules: Module[] = [];
  const violations: Violation[] = [];
  for (const path of paths) {
    const text = readFileSync(join(root, path), "utf8");
    const at = authorsMachine(text);
    if (at >= 0) violations.push({ path, ...lineAt(text, at), law: WITHOUT_MACHINE });
    if (path === LOCKFILE) {
      violations.push(...registriesIn(text).map((what) => ({ path, line: 1, what, law: WITHOUT_REGISTRY })));
    }
    if (!/\.tsx?$/.test(path)) continue;
    const { module, violations: found } = inspect(path, text);
    modules.push(module);
    violations.push(...found);
  }
  return { files: paths.length, violations: [...violations, ...betweenFiles(modules)] };
}

function lineAt(text: string, at: number): Finding {
  const before = text.slice(0, at).split("\n");
  return { line: before.length, what: text.slice(at, at + TEXT_MAX).split("\n", 1)[0] ?? "" };
}

function betweenFiles(modules: readonly Module[]): readonly Violation[] {
  const loaded = modules
    .filter(isProduction)
    .flatMap(({ path }) =>
      chaosIn(modules, path).map((what) => ({ path, line: 1, what: `loads ${what}`, law: WITHOUT_CHAOS })),
    );
  const circles = cycles(modules).map((what) => ({
    path: what.split(" → ", 1)[0] ?? "",
    line: 1,
    what,
    law: WITHOUT_CYCLE,
  }));
  return [...loaded, ...circles];
}

/** The report: each rule that is violated, what to do, and each place as `FILE:LINE`, which editors open. */
export function reportOf(violations: readonly Violation[]): readonly string[] {
  const broken = new Map<Law, Violation[]>();
  for (const each of violations) broken.set(each.law, [...(broken.get(each.law) ?? []), each]);
  return [...broken].flatMap(([{ says, todo }, found]) => [
    `${says}: ${found.length} ${found.length === 1 ? "violation" : "violations"}`,
    `  to do: ${todo}`,
    ...found.map(({ path, line, what }) => `${path}:${line}: ${what}`),
  ]);
}
