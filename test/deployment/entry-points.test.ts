/** What agents import of cairn, in the functions of this checkout. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { bundleFunctions } from "../../infra/bundle.ts";
import { EVERY_ENTRY_POINT, ONE_LIBRARY, definitionsIn, seenByApi } from "../support/bundles/every-entry-point.ts";

/** The file lies in the checkout, where `cairn-run` is found, in a folder that git and the linter pass over. */
function agentFile(text: string): { readonly file: string; readonly folder: string } {
  const dir = mkdtempSync(join(import.meta.dirname, ".cairn-entry-points-"));
  const folder = mkdtempSync(join(tmpdir(), "cairn-entry-points-"));
  onTestFinished(() => {
    for (const each of [dir, folder]) rmSync(each, { recursive: true, force: true });
  });
  const file = join(dir, "agent.ts");
  writeFileSync(file, text);
  return { file, folder };
}

test("an agent imports every entry point for functions, and all are one library", async () => {
  const { file, folder } = agentFile(EVERY_ENTRY_POINT);
  await bundleFunctions({ folder, agentFiles: [file], functions: ["beat", "api"] });
  expect(seenByApi(folder)).toEqual({ status: 422, seen: ONE_LIBRARY });
  expect(definitionsIn(folder)).toEqual({ outcome: 1, zod: 1 });
});

test("an agent that imports cairn-run/server is not deployed", async () => {
  const { file, folder } = agentFile(`import * as other from "cairn-run/server";
    globalThis.other = other;
    ${EVERY_ENTRY_POINT}`);
  await expect(bundleFunctions({ folder, agentFiles: [file] })).rejects.toThrow(
    /^agent one of .*agent\.ts imports cairn-run\/server, which cannot be deployed: /,
  );
});
