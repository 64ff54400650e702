/** The real command line with a secret in `.env`: a process dies with it in hand, and no file and no line has it. */
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  LONG_TIMEOUTS,
  runCairn,
  spawnCairn,
  createCliFolder,
  killPausedProcess,
} from "../support/processes/cli-process.ts";
import { TOKEN, formsOf, leaksIn } from "../support/runs/secret-leaks.ts";

const LEAKING_AGENT = `
import { defineAgent, scriptedModel, tool } from "cairn-run";
import { z } from "zod";

export const teller = defineAgent({
  name: "teller", version: "1", instructions: "", task: z.object({ note: z.string().optional() }),
  model: scriptedModel({
    name: "m",
    reply: ({ calls }) =>
      calls.length < 2 ? { calls: [{ tool: calls.length === 0 ? "tell" : "fail", args: {} }] } : { text: "told" },
  }),
  secrets: ["AIRLINE_TOKEN"],
  tools: {
    tell: tool({
      effect: "keyed", input: z.object({}),
      run: async ({ secrets, log }) => {
        const token = await secrets.get("AIRLINE_TOKEN");
        log("the token is " + token);
        return { token, large: (token + " ").repeat(3_000) };
      },
    }),
    fail: tool({
      effect: "keyed", input: z.object({}),
      run: async ({ secrets }) => {
        const token = await secrets.get("AIRLINE_TOKEN");
        setImmediate(() => { throw new Error("nobody catches " + token); });
        throw new Error("refused " + token);
      },
    }),
  },
});`;

test("a secret of .env reaches the tools, and no file and no output", async () => {
  const at = createCliFolder({ ...LONG_TIMEOUTS, CAIRN_HOLD: "after:effect:tell" });
  writeFileSync(join(at.dir, "teller.ts"), LEAKING_AGENT);
  writeFileSync(join(at.dir, ".env"), `AIRLINE_TOKEN='${TOKEN}'\n`);
  const running = spawnCairn(at, ["start", "./teller.ts", "--key", "k", "--wait"]);
  await killPausedProcess(at);
  const said = [await running.ended];
  const run = /local-[a-z2-7]{26}/.exec(said[0]?.out ?? "")?.[0] ?? "";
  const refused = await runCairn(at, ["start", "./teller.ts", "--input", JSON.stringify({ note: `use ${TOKEN}` })]);
  for (const word of ["show", "timeline", "ledger"]) said.push(await runCairn(at, [word, run, "--json"]));
  expect({ said: said[0]?.exit, refused: refused.exit }).toEqual({ said: 0, refused: 2 });
  const lines = said.map(({ out, err }) => out + err).join("\n");
  expect(lines).toContain("tell: the token is [secret AIRLINE_TOKEN]");
  expect(lines).toContain("nobody catches [secret AIRLINE_TOKEN]");
  expect(lines).toContain("refused [secret AIRLINE_TOKEN]");
  expect(refused.err).toContain("it holds [secret AIRLINE_TOKEN]");
  const forms = formsOf(TOKEN);
  const files = readdirSync(at.store, { recursive: true, encoding: "utf8" }).filter((name) => name.includes("."));
  expect(files).toContain("cairn.sqlite");
  const bytes = files.map((name) => readFileSync(join(at.store, name)));
  for (const each of [...bytes, Buffer.from(lines + refused.err + refused.out)]) {
    expect(leaksIn(each, forms)).toEqual([]);
  }
});
