/** `cairn completion`: what the shells themselves offer with the printed scripts. */
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { COMMANDS } from "../../src/cli/commands.ts";
import { temporaryDir } from "../process/fixtures/store.ts";
import { runCli } from "../support/processes/cli-in-process.ts";

const scriptFor = async (shell: string): Promise<string> => (await runCli(temporaryDir(), "completion", shell)).out;

/** What bash offers after these words; the last one is half typed. */
function bashOffers(script: string, words: readonly string[]): readonly string[] {
  const line = ["cairn", ...words].map((word) => `'${word}'`).join(" ");
  const asks = `COMP_WORDS=(${line}); COMP_CWORD=${words.length}; _cairn; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync("bash", ["-c", `${script}\n${asks}`], { encoding: "utf8" })
    .trim()
    .split("\n");
}

describe("bash", () => {
  test("offers every command, the commands of a group, the options of a command, and the values of an option", async () => {
    const script = await scriptFor("bash");
    const first = bashOffers(script, [""]);
    const names = COMMANDS.map(({ command }) => command.split(" ")[0]);
    expect(first).toEqual(expect.arrayContaining([...names, "init", "doctor", "--world"]));
    expect(bashOffers(script, ["token", ""])).toEqual(expect.arrayContaining(["create", "list", "revoke"]));
    expect(bashOffers(script, ["list", "--sta"])).toEqual(["--status"]);
    expect(bashOffers(script, ["list", "--status", "com"])).toEqual(["completed"]);
    expect(bashOffers(script, ["init", "--template", "or"])).toEqual(["orders"]);
    // A word of a run's input is no command.
    expect(bashOffers(script, ["start", "list", "--in"])).toEqual(["--input"]);
  });
});

describe.each(["zsh", "fish"])("%s", (shell) => {
  test("gets each command and option, and reads the script if it is installed here", async () => {
    const script = await scriptFor(shell);
    for (const { command, flags = [] } of COMMANDS) {
      expect(script).toContain(command.split(" ").at(-1));
      for (const { flag } of flags) expect(script).toContain(flag.split(" ")[0]?.replace(/^--/, ""));
    }
    const path = join(temporaryDir(), "completion");
    writeFileSync(path, script);
    const { error, status, stderr } = spawnSync(shell, ["-n", path], { encoding: "utf8" });
    if (error === undefined) expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });
});

test("another shell is refused with the ones there are", async () => {
  const { exit, err } = await runCli(temporaryDir(), "completion", "tcsh");
  expect(exit).toBe(2);
  expect(err).toContain("bash, zsh, fish");
});
