/** What the workflows do on GitHub, where this repository cannot try them: each rule is held against the parsed file. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Mapping, type Yaml, parseYaml } from "./yaml.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const FOLDER = join(ROOT, ".github", "workflows");

const asMapping = (value: Yaml | undefined): Mapping => {
  expect(value).toBeTypeOf("object");
  return value as Mapping;
};

/** A job of GitHub. */
interface Stage {
  readonly fields: Mapping;
  readonly steps: readonly Mapping[];
  readonly runs: readonly string[];
}

interface Workflow {
  readonly fields: Mapping;
  readonly stages: Readonly<Record<string, Stage>>;
}

function workflowIn(text: string): Workflow {
  const fields = asMapping(parseYaml(text));
  const stages = Object.entries(asMapping(fields["jobs"])).map(([name, value]) => {
    const stage = asMapping(value);
    const steps = (stage["steps"] as readonly Yaml[]).map(asMapping);
    const runs = steps.flatMap(({ run }) => (typeof run === "string" ? [run] : []));
    return [name, { fields: stage, steps, runs }] as const;
  });
  return { fields, stages: Object.fromEntries(stages) };
}

const read = (name: string): Workflow => workflowIn(readFileSync(join(FOLDER, name), "utf8"));
const all = readdirSync(FOLDER);

const stageOf = ({ stages }: Workflow, name: string): Stage => {
  expect(Object.keys(stages)).toContain(name);
  return stages[name] as Stage;
};

const usesOf = ({ steps }: Stage, action: string): readonly Mapping[] =>
  steps.filter(({ uses }) => typeof uses === "string" && uses.startsWith(`${action}@`));

/** The settings of the one step that uses this action. */
function settingsOf(stage: Stage, action: string): Mapping {
  const found = usesOf(stage, action);
  expect(found, action).toHaveLength(1);
  return asMapping(found[0]?.["with"]);
}

const PUBLISHES =
  /^npm publish --ignore-scripts --access public "\.\/(?:create-)?cairn-run-\$\{GITHUB_REF_NAME#v\}\.tgz"$/;
const ACTIONS = /^actions\/(setup-node|download-artifact)@/;

/** What a job that may ask for a token does besides publishing packages that another job has built. */
function faultsWithToken({ fields, stages }: Workflow): readonly string[] {
  return Object.entries(stages).flatMap(([name, stage]) => {
    const permissions = stage.fields["permissions"] ?? fields["permissions"];
    const mayAsk = permissions === undefined || typeof permissions !== "object" || permissions === null;
    if (!mayAsk && (permissions as Mapping)["id-token"] !== "write") return [];
    return stage.steps.flatMap(({ uses, run }) => {
      const isAllowed = typeof run === "string" ? PUBLISHES.test(run) : ACTIONS.test(String(uses));
      return isAllowed ? [] : [`${name}: ${String(run ?? uses)}`];
    });
  });
}

describe("a job that may ask for a token that publishes", () => {
  test.each(all)("runs no code of the checkout in %s", (name) => {
    expect(faultsWithToken(read(name))).toEqual([]);
  });

  const planted = (top: string, own: string): Workflow =>
    workflowIn(
      `on:\n  push:\npermissions:${top}\njobs:\n  all:\n    runs-on: ubuntu-latest\n${own}    steps:\n` +
        "      - uses: actions/checkout@v4\n      - run: npm ci\n      - run: npm publish ./build/cairn-run\n",
    );
  const faults = ["all: actions/checkout@v4", "all: npm ci", "all: npm publish ./build/cairn-run"];

  test.each([
    ["of the workflow", planted("\n  id-token: write", "")],
    ["of its own", planted("\n  contents: read", "    permissions:\n      id-token: write\n")],
    ["to write everything", planted(" write-all", "")],
  ])("is detected with the permission %s", (_, workflow) => {
    expect(faultsWithToken(workflow)).toEqual(faults);
  });

  test("is not taken for one that only reads", () => {
    expect(faultsWithToken(planted("\n  id-token: write", "    permissions:\n      contents: read\n"))).toEqual([]);
  });
});

describe.each(all)("%s", (name) => {
  const workflow = read(name);

  test("may read the repository, and nothing else, where a job does not say otherwise", () => {
    expect(workflow.fields["permissions"]).toEqual({ contents: "read" });
  });

  test("gives up a job that hangs, and checks out the whole history", () => {
    for (const stage of Object.values(workflow.stages)) {
      expect(Number(stage.fields["timeout-minutes"])).toBeGreaterThan(0);
      for (const step of usesOf(stage, "actions/checkout")) expect(step["with"]).toEqual({ "fetch-depth": "0" });
    }
  });

  test("plays what needs LocalStack on its processes, and so on open-source parts alone", () => {
    for (const stage of Object.values(workflow.stages)) {
      if (!stage.runs.some((run) => run.startsWith("npm run verify"))) continue;
      expect(stage.fields["env"]).toEqual({ LS_HOST: "process" });
      expect(settingsOf(stage, "actions/setup-python")).toEqual({ "python-version": "3.13" });
    }
  });

  test("types commands that there are", () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { readonly scripts: Mapping };
    const runs = Object.values(workflow.stages).flatMap((stage) => stage.runs);
    const named = runs.flatMap((run) => [...run.matchAll(/npm run ([\w:-]+)/g)].map(([, script = ""]) => script));
    for (const script of named) expect(Object.keys(scripts)).toContain(script);
    const files = runs.flatMap((run) => [...run.matchAll(/vitest run (\S+)/g)].map(([, file = ""]) => file));
    for (const file of files) expect(existsSync(join(ROOT, file)), file).toBe(true);
  });

  test("never runs the code of a stranger with the rights of this repository", () => {
    expect(Object.keys(asMapping(workflow.fields["on"]))).not.toContain("pull_request_target");
  });
});

describe("verify.yml", () => {
  const workflow = read("verify.yml");

  test("runs for pushes to main and for pull requests", () => {
    expect(workflow.fields["on"]).toEqual({ push: { branches: ["main"] }, pull_request: null });
  });

  test("verifies on Linux, and keeps the logs and the list of unstable files whatever the result", () => {
    const stage = stageOf(workflow, "linux");
    expect(stage.fields["runs-on"]).toBe("ubuntu-latest");
    expect(stage.runs).toEqual(["npm ci", "npm run verify"]);
    expect(settingsOf(stage, "actions/checkout")).toEqual({ "fetch-depth": "0" });
    expect(settingsOf(stage, "actions/upload-artifact")).toMatchObject({ path: "coverage/verify" });
    expect(usesOf(stage, "actions/upload-artifact")[0]?.["if"]).toBe("always()");
  });

  test("runs the fast tests on macOS, and installs and kills the package there", () => {
    const stage = stageOf(workflow, "macos");
    expect(stage.fields["runs-on"]).toBe("macos-latest");
    expect(stage.runs).toEqual(["npm ci", "npm test", "npx vitest run test/slow/package/package.test.ts"]);
  });
});

test("nightly.yml verifies everything each night, and when it is asked to", () => {
  const workflow = read("nightly.yml");
  expect(workflow.fields["on"]).toEqual({
    schedule: [{ cron: expect.stringMatching(/^\d+ \d+ \* \* \*$/) }],
    workflow_dispatch: null,
  });
  expect(stageOf(workflow, "full").runs).toEqual(["npm ci", "npm run verify -- --full"]);
});

describe("release.yml", () => {
  const workflow = read("release.yml");
  const [build, publish] = [stageOf(workflow, "build"), stageOf(workflow, "publish")];

  test("runs for tags of versions, in two jobs", () => {
    expect(workflow.fields["on"]).toEqual({ push: { tags: ["v*"] } });
    expect(Object.keys(workflow.stages)).toEqual(["build", "publish"]);
    expect(publish.fields["needs"]).toBe("build");
  });

  test("tests and packs without a token, and only the version of the tag", () => {
    expect(build.fields["permissions"]).toEqual({ contents: "read" });
    expect(build.runs).toEqual([
      "npm ci",
      `test "v$(node -p 'require("./package.json").version')" = "$GITHUB_REF_NAME"`,
      "npm run verify -- --full",
      "npm run package",
      "mkdir packed && npm pack ./build/cairn-run ./build/create-cairn-run --pack-destination packed",
    ]);
    expect(usesOf(build, "actions/upload-artifact").map((step) => asMapping(step["with"])["path"])).toEqual([
      "coverage/verify",
      "packed",
    ]);
  });

  test("publishes with a token what was packed, and runs nothing else", () => {
    expect(publish.fields["permissions"]).toEqual({ "id-token": "write" });
    expect(usesOf(publish, "actions/checkout")).toEqual([]);
    const packed = usesOf(build, "actions/upload-artifact").map((step) => asMapping(step["with"])["name"]);
    expect(packed).toContain(settingsOf(publish, "actions/download-artifact")["name"]);
    expect(publish.runs).toHaveLength(2);
    for (const run of publish.runs) expect(run).toMatch(PUBLISHES);
  });
});

describe("the reader of the workflows", () => {
  test("reads mappings, lists, texts and comments", () => {
    const text =
      '# c\non:\n  push:\n    tags: ["v*", b]\n  call:\nsteps:\n  - run: a "b"#c\n    if: always()\n  # d\n  - e\n';
    expect(parseYaml(text)).toEqual({
      on: { push: { tags: ["v*", "b"] }, call: null },
      steps: [{ run: 'a "b"#c', if: "always()" }, "e"],
    });
  });

  test.each([
    "a: |\n  b",
    "a: &b c",
    "a: {b: c}",
    "a: b # c",
    "a: b: c",
    "a: 'b'",
    "a: b\na: c",
    "a:\n  b\n",
    "a: b\n  c: d",
  ])("refuses what it would misread: %j", (text) => {
    expect(() => parseYaml(text)).toThrow(/^line \d is in no form that is read here/);
  });
});
