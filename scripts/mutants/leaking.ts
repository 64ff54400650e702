/** Places at which a secret could be written: each switched off by itself, and found by whoever searches every byte. */
import type { Mutant } from "./mutant.ts";

const leaking = (what: string, file: string, from: string, to: string): Mutant => ({
  name: `secrets: ${what}`,
  changes: [{ file, from, to }],
  killedBy: { kind: "tests", file: "test/repo/leaks.test.ts" },
});

const REDACTION = "src/codec/redaction/redaction.ts";
const FORMS = "src/codec/redaction/secret-forms.ts";
const SEARCH = "src/codec/redaction/secret-search.ts";

const killedIn =
  (test: string, file: string) =>
  (what: string, from: string, to: string, other?: string): Mutant => ({
    name: `secrets: ${what}`,
    changes: [{ file: other ?? file, from, to }],
    killedBy: { kind: "tests", file: test },
  });
const probed = killedIn("test/codec/redaction-probes.test.ts", "src/codec/redaction/credentials.ts");
const formed = killedIn("test/codec/redaction-forms.test.ts", FORMS);

export const LEAKING: readonly Mutant[] = [
  leaking(
    "events are written as they come",
    "src/engine/context/pending-work.ts",
    "redactionIn(this.#world).event(given)",
    "((event: Event) => (redactionIn(this.#world), event))(given)",
  ),
  leaking(
    "values are kept as they come",
    "src/history/write-objects.ts",
    "redactionIn(world).json(what.json)",
    "(redactionIn(world), what.json)",
  ),
  leaking(
    "messages are delivered as they are said",
    "src/engine/context/inbox.ts",
    "redactionIn(world).words(to.message.body)",
    "(redactionIn(world), to.message.body)",
  ),
  leaking(
    "the id of a message is what its sender says",
    "src/operations/steer.ts",
    "&& redactionIn(world).text(id) === id;",
    "&& redactionIn(world).text(id) !== '';",
  ),
  leaking("alarms tell", "src/history/alarm.ts", "redactionIn(world).text(of.why)", "(redactionIn(world), of.why)"),
  leaking(
    "tools log",
    "src/engine/tools/run-tools.ts",
    "redactionIn(run.world).text(String(line))",
    "(redactionIn(run.world), line)",
  ),
  {
    name: "secrets: an input is searched for what was known a moment ago",
    changes: [
      {
        file: "src/history/secrets.ts",
        from: "await readAll(world, own, 0)",
        to: "await readAll(world, own, ABSENT_MS)",
      },
    ],
    killedBy: { kind: "tests", file: "test/history/secrets.test.ts" },
  },
  {
    name: "secrets: an input is kept where a secret cannot be read",
    changes: [{ file: "src/history/secrets.ts", from: 'look.kind === "unread"', to: "look.kind === undefined" }],
    killedBy: { kind: "tests", file: "test/history/secrets.test.ts" },
  },
  leaking("inputs are taken", "src/operations/start.ts", "issues.length === 0 ? task :", "issues.length >= 0 ? task :"),
  leaking(
    "edits are run with a reference",
    "src/engine/tools/gate.ts",
    'if (as === "edit" && redactionIn(world).json(said.args) !== said.args)',
    'if (as === "edit" && redactionIn(world) === null)',
  ),
  leaking(
    "business keys are recorded",
    "src/engine/tools/call-key.ts",
    "redactionIn(world).text(key) === key",
    "key !== ''",
  ),
  leaking(
    "a tool that cannot say what to take out has it written",
    "src/engine/tools/outcome-evidence.ts",
    "} catch {\n    return WITHHELD;",
    "} catch {\n    return json;",
  ),
  leaking(
    "a secret that was cut in two keeps its first half",
    REDACTION,
    "if (!text.endsWith(CUT)) return text;",
    "if (text !== '') return text;",
  ),
  leaking("base64 is not looked into", FORMS, "...base64Of(plain), ", ""),
  leaking("base64 is looked into from its start alone", FORMS, "[0, 1, 2].map(", "[0].map("),
  leaking("addresses are not looked into", FORMS, "...inAddresses(value), ", ""),
  killedIn("test/codec/redaction.test.ts", FORMS)("JSON within a text is not looked into", "...inJson(value), ", ""),
  leaking("names are not looked into", REDACTION, "on.isTheirs ? on.name(name) : name", "name"),
  leaking(
    "tokens of vendors are not known",
    "src/codec/redaction/credentials.ts",
    "withoutFields(withoutTokens(withoutShapes(text)))",
    "withoutFields(withoutShapes(text))",
  ),
  probed(
    "names are not known",
    "withoutFields(withoutTokens(withoutShapes(text)))",
    "withoutTokens(withoutShapes(text))",
  ),
  probed("shapes are not known", "if (!HINT.test(text)) return text;", "if (text !== '') return text;"),
  formed("hex is not looked into", ", ...hexOf(plain)]", "]"),
  formed("base64 is looked into once", "...base64Twice(value),", ""),
  formed("forms that overlap are replaced one by one", "match.from >= last.to", "match.from >= last.from", SEARCH),
];
