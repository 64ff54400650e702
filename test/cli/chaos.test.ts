/** `cairn chaos` before anything runs: what it refuses, and what it asks. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryDir } from "../process/fixtures/store.ts";
import { runCliAt } from "../support/processes/cli-in-process.ts";

const AGENT = `${join(import.meta.dirname, "../process/fixtures/real-services-agent.ts")}#accountant`;
const TOOLS = "book,pay,archive,desk_*,mailer.sendMail";

const chaosWith = (person: ((question: string) => Promise<string>) | null, ...words: readonly string[]) =>
  runCliAt({ dir: temporaryDir(), person }, "chaos", AGENT, "--input", '{"invoice":"A-1"}', ...words);

describe("tools that act for real", () => {
  test("are named with their effect classes, and the command that says all of them", async () => {
    const { exit, err } = await chaosWith(null, "--with-real-effects", "--tasks", "1");
    expect(exit).toBe(2);
    expect(err).toContain("NotConfirmed: nothing was run: these tools would act for real: book (keyed), pay (unsafe)");
    expect(err).toContain("desk_* (MCP server desk), mailer.sendMail (unsafe)");
    expect(err).toMatch(
      /next: npx cairn chaos .+ --tasks 1 .*--with-real-effects '?book,pay,archive,desk_\*,mailer.sendMail'?/,
    );
  });

  test.each<[says: string, typed: string]>([
    ["none", ""],
    ["a part", "book,pay"],
    ["one more", `${TOOLS},other`],
    ["one twice instead of another", "book,book,archive,desk_*,mailer.sendMail"],
    ["all", "all"],
  ])("are refused where the typed list has %s", async (_, typed) => {
    // A list that is taken would end at the decision, and run nothing.
    expect(await chaosWith(null, `--with-real-effects=${typed}`, "--gates", "yes")).toMatchObject({
      exit: 2,
      err: expect.stringContaining("NotConfirmed") as string,
    });
  });

  test("are asked for at a terminal, where another answer than their names refuses", async () => {
    const asked: string[] = [];
    const person = async (question: string) => (asked.push(question), "yes");
    const { exit, err } = await chaosWith(person, "--with-real-effects");
    expect({ exit, asked: asked.length }).toEqual({ exit: 2, asked: 1 });
    expect(asked[0]).toContain("mailer.sendMail (unsafe). type their names: ");
    expect(err).toContain("the typed names are yes");
  });
});

test("tools of child agents count that another file of the config exports", async () => {
  const dir = temporaryDir();
  const head = 'import { childTool, defineAgent, scriptedModel, tool } from "cairn-run";\nimport { z } from "zod";\n';
  const said = 'version: "1", instructions: "", model: scriptedModel({ name: "m", reply: () => ({ text: "done" }) })';
  writeFileSync(
    join(dir, "boss.ts"),
    `${head}export const boss = defineAgent({ name: "boss", ${said}, task: z.object({}).loose(), tools: {
      ask: childTool({ agent: "clerk", description: "", input: z.object({}), budget: { beats: 5 } }),
    } });`,
  );
  writeFileSync(
    join(dir, "clerk.ts"),
    `${head}export const clerk = defineAgent({ name: "clerk", ${said}, task: z.object({}), tools: {
      pay: tool({ input: z.object({}), effect: "unsafe", run: () => "paid" }),
    } });`,
  );
  writeFileSync(join(dir, "cairn.config.ts"), 'export const config = { agents: ["./boss.ts", "./clerk.ts"] };');
  const words = ["chaos", "boss", "--input", "{}", "--with-real-effects"];
  const { exit, err } = await runCliAt({ dir, person: null }, ...words);
  expect({ exit, err }).toEqual({ exit: 2, err: expect.stringContaining("would act for real: clerk.pay (unsafe)") });
});

test("a decision about gates is approve or deny", async () => {
  expect(await chaosWith(null, "--gates", "yes")).toMatchObject({
    exit: 2,
    err: expect.stringMatching(/--gates takes approve or deny, and not yes[^]*--gates deny/) as string,
  });
});
