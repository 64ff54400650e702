/** A copy of the sources in which one rule at a time is broken; the checkout itself is never touched. */
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Change, Mutant } from "./mutant.ts";

export const ROOT = join(import.meta.dirname, "../..");
const COPIED = [
  ...["src", "functions", "infra", "docs", "test", "agents", "scripts"],
  ...["package.json", "tsconfig.json", "vitest.config.ts"],
];

/** Throws where a text is not there: the list has to follow the code. */
function mutated(source: string, mutant: string, changes: readonly Change[]): string {
  return changes.reduce((before, { file, from, to }) => {
    if (!before.includes(from)) throw new Error(`mutant "${mutant}": ${file} does not have ${JSON.stringify(from)}`);
    return before.replace(from, () => to);
  }, source);
}

/** Each file that a mutant changes, and what it becomes. */
export function filesOf({ name, changes }: Mutant): ReadonlyMap<string, string> {
  const files = [...new Set(changes.map(({ file }) => file))];
  const own = (file: string): readonly Change[] => changes.filter((change) => change.file === file);
  const source = (file: string): string => readFileSync(join(ROOT, file), "utf8");
  return new Map(files.map((file) => [file, mutated(source(file), name, own(file))]));
}

export class Copy {
  readonly dir = mkdtempSync(join(tmpdir(), "cairn-mutants-"));

  constructor() {
    for (const name of COPIED) cpSync(join(ROOT, name), join(this.dir, name), { recursive: true });
    symlinkSync(join(ROOT, "node_modules"), join(this.dir, "node_modules"));
  }

  /** Breaks the rule while `work` is done. */
  async with<T>(mutant: Mutant, work: () => Promise<T>): Promise<T> {
    const files = filesOf(mutant);
    for (const [file, text] of files) writeFileSync(join(this.dir, file), text);
    try {
      return await work();
    } finally {
      for (const file of files.keys()) cpSync(join(ROOT, file), join(this.dir, file));
    }
  }

  /** Takes a test or a checker away. False if there is none of that name. */
  without(checker: string): boolean {
    const [row] = /^schedule \d+$/.exec(checker) ?? [];
    const dir = join(this.dir, row === undefined ? "test/simulation" : "test/schedules");
    const files = readdirSync(dir).map((name) => join(dir, name));
    for (const file of files) {
      const text = readFileSync(file, "utf8");
      const less =
        row === undefined
          ? text.replace(new RegExp(`^  ${RegExp.escape(checker)},\\n`, "m"), "")
          : text.replace(`test("${row}: `, `((name: string, _: unknown) => name)("${row}: `);
      if (less === text) continue;
      writeFileSync(file, less);
      return true;
    }
    return false;
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}
