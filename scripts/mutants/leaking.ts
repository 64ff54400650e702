/** Places at which a secret could be written: each switched off by itself, and found by whoever searches every byte. */
import type { Mutant } from "./mutant.ts";

const leaking = (what: string, file: string, from: string, to: string): Mutant => ({
  name: `secrets: ${what}`,
  changes: [{ file, from, to }],
  killedBy: { kind: "tests", file: "test/unit/leaks.test.ts" },
});

const REDACTION = "src/codec/redaction.ts";

export const LEAKING: readonly Mutant[] = [
  leaking(
    "events are written as they come",
    "src/runner/active-run.ts",
    "redactionIn(this.world).event(given)",
    "((event: Event) => (redactionIn(this.world), event))(given)",
  ),
  leaking(
    "values are kept as they come",
    "src/runner/put.ts",
    "redactionIn(world).json(what.json)",
    "(redactionIn(world), what.json)",
  ),
  leaking(
    "messages are delivered as they are said",
    "src/runner/inbox.ts",
    "redactionIn(world).words(to.message.body)",
    "(redactionIn(world), to.message.body)",
  ),
  leaking(
    "the id of a message is what its sender says",
    "src/runner/steer.ts",
    "&& redactionIn(world).text(id) === id;",
    "&& redactionIn(world).text(id) !== '';",
  ),
  leaking("alarms tell", "src/runner/alarm.ts", "redactionIn(world).text(of.why)", "(redactionIn(world), of.why)"),
  leaking(
    "tools log",
    "src/runner/act.ts",
    "redactionIn(run.world).text(String(line))",
    "(redactionIn(run.world), line)",
  ),
  {
    name: "secrets: an input is searched for what was known a moment ago",
    changes: [
      {
        file: "src/runner/secrets.ts",
        from: "await readAll(world, own, 0)",
        to: "await readAll(world, own, ABSENT_MS)",
      },
    ],
    killedBy: { kind: "tests", file: "test/unit/secrets.test.ts" },
  },
  {
    name: "secrets: an input is kept where a secret cannot be read",
    changes: [{ file: "src/runner/secrets.ts", from: 'look.kind === "unread"', to: "look.kind === undefined" }],
    killedBy: { kind: "tests", file: "test/unit/secrets.test.ts" },
  },
  leaking("inputs are taken", "src/runner/start.ts", "issues.length === 0 ? task :", "issues.length >= 0 ? task :"),
  leaking(
    "edits are run with a reference",
    "src/runner/gate.ts",
    'if (as === "edit" && redactionIn(world).json(said.args) !== said.args)',
    'if (as === "edit" && redactionIn(world) === null)',
  ),
  leaking("business keys are recorded", "src/runner/call-key.ts", "redactionIn(world).text(key) === key", "key !== ''"),
  leaking(
    "a tool that cannot say what to take out has it written",
    "src/runner/told.ts",
    "} catch {\n    return WITHHELD;",
    "} catch {\n    return json;",
  ),
  leaking(
    "a secret that was cut in two keeps its first half",
    REDACTION,
    "if (!text.endsWith(CUT)) return text;",
    "if (text !== '') return text;",
  ),
  leaking("base64 is not looked into", REDACTION, ", ...base64Of(plain)]", "]"),
  leaking("base64 is looked into from its start alone", REDACTION, "return [0, 1, 2].flatMap", "return [0].flatMap"),
  leaking("addresses are not looked into", REDACTION, "encoded, escapes, strict, ...spaces,", ""),
  leaking("JSON within a text is not looked into", REDACTION, "escaped, inJson(escaped),", ""),
  leaking("names are not looked into", REDACTION, "on.isTheirs ? on.text(name) : name", "name"),
  leaking("shapes are not known", REDACTION, "if (!HINT.test(text)) return text;", "if (text !== '') return text;"),
];
