/** The README tells the truth: its agent runs as it stands, and every file that it points to is there. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..");
const readme = readFileSync(join(ROOT, "README.md"), "utf8");

test("the agent of the README has at most 30 lines and does what it says", () => {
  const [, agent = ""] = /```ts\n([^]*?)```/.exec(readme) ?? [];
  expect(agent.trim().split("\n").length).toBeLessThanOrEqual(30);
  const dir = mkdtempSync(join(tmpdir(), "cairn-readme-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, "greeter.ts"), agent);
  const [, input = ""] = /start \.\/greeter\.ts --input '([^']*)'/.exec(readme) ?? [];
  const words = ["start", join(dir, "greeter.ts"), "--input", input, "--wait", "--json", "--store", join(dir, "store")];
  const out = execFileSync(process.execPath, [join(ROOT, "src/cli/main.ts"), ...words], {
    cwd: ROOT,
    encoding: "utf8",
  });
  expect(JSON.parse(out)).toMatchObject({ status: "completed", result: "The letter is on its way." });
});

test("every file that README and docs point to is there", () => {
  for (const file of ["README.md", "docs/adr/README.md", "docs/failure-modes.md", "docs/glossary.md"]) {
    const text = readFileSync(join(ROOT, file), "utf8");
    const links = [...text.matchAll(/\]\(([^)#:]+)\)/g)].map(([, link = ""]) => join(ROOT, file, "..", link));
    expect(links.filter((link) => !existsSync(link))).toEqual([]);
  }
  expect(readme).toContain("](docs/failure-modes.md)");
});
