/** The commands that the console offers to copy, typed at the command line of today. */
import { expect, test } from "vitest";
import { type ActionName, describe as describeAction, scheduleAction } from "../../src/console/model/actions.ts";
import { cliOf } from "../../src/console/model/commands.ts";
import { runCli } from "../support/processes/cli-in-process.ts";
import { temporaryDir } from "../process/fixtures/store.ts";

const TEXTS: { readonly [A in ActionName]: string } = {
  ...{ message: "go on", pause: "lunch", resume: "back", upgrade: "read it", cancel: "no need", undo: "wrong dates" },
  ...{ restart: "new prices", redrive: "mended", checked: "all there", fork: "3", assign: "ada", purge: "local-abc" },
};

const actions = Object.entries(TEXTS).flatMap(([name, text]) =>
  [false, true].map((confirmed) =>
    describeAction(name as ActionName, { run: "local-abc", version: 3 }).request(text, confirmed),
  ),
);
const schedules = (["pause", "resume", "run"] as const).map((word) => scheduleAction("clerk", word));

test.each([...actions, ...schedules].map((action) => [action.words.join(" "), action] as const))(
  "speaks to the server of the page: cairn %s",
  async (_, action) => {
    expect(cliOf(action, "http://127.0.0.1:7420")).toMatch(/^npx cairn .* --api http:\/\/127\.0\.0\.1:7420$/);
    const help = await runCli(temporaryDir(), ...action.words, "--help");
    expect({ exit: help.exit, out: help.out }).toEqual({ exit: 0, out: expect.stringContaining("--api <url>") });
  },
);

test.each([...actions, ...schedules].map(({ words }) => [words.join(" "), words] as const))(
  "the command line over a store knows the words of: cairn %s",
  async (_, words) => {
    const { err, exit } = await runCli(temporaryDir(), ...words);
    // Without a store and an agent it gets as far as to miss them.
    expect(exit).not.toBe(0);
    expect(err).toMatch(/there is no (store|agent)/);
  },
);
