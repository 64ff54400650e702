/**
 * Which steps a change asks for, by the paths of its files. The first row that knows a path decides. A path that no row
 * knows plays everything, so a new folder is never checked too little.
 *
 * `ALWAYS` (steps.ts) is played for every change: format, lint, types, dead code, sizes, the rules of the house, and the
 * fast and long tests. Mutants are played if their source, their suite or their row changed, whatever the table says.
 */

/** The steps that not every change asks for. */
export const OPTIONAL_STEPS = [
  "crash", // enumerated crashes and zombies of one run
  "simulation", // histories under faults
  "processes", // kills of real processes, storms, commands as users type them
  "mutation", // the runner of mutants judges mutants of its own
  "package", // the packed package in a project of its own
  "browser", // pages in Chromium
  "contract", // Schemathesis over the OpenAPI document
  "infra", // the resources that a deployment requests
  "localstack", // the AWS world on an emulator
  "deployments", // whole deployments on it, and their faults
  "benchmarks", // the benchmarks start and end
  "site", // the pages as a site
] as const;
export type OptionalStep = (typeof OPTIONAL_STEPS)[number];

interface Row {
  readonly name: string;
  /** Beginnings of paths; a path that ends without `/` may be a file. */
  readonly paths: readonly string[];
  readonly steps: readonly OptionalStep[] | "everything";
}

export const TABLE: readonly Row[] = [
  // What users read.
  { name: "API document", paths: ["docs/openapi.json"], steps: ["contract"] },
  {
    name: "pages",
    paths: [
      "docs/",
      "README.md",
      "ARCHITECTURE.md",
      "CONTRIBUTING.md",
      "SECURITY.md",
      "LICENSE",
      ".changeset/",
      ".editorconfig",
    ],
    steps: [],
  },
  { name: "the commit that passed", paths: [".ci/passed"], steps: [] },
  { name: "workflows", paths: [".github/", ".gitignore"], steps: [] },

  // The kernel: what runs a beat.
  { name: "protocol", paths: ["src/protocol/"], steps: ["crash", "simulation", "processes", "localstack"] },
  {
    name: "kernel",
    paths: [
      "src/core/",
      "src/codec/",
      "src/ports/",
      "src/history/",
      "src/engine/",
      "src/features/",
      "src/maintenance/",
    ],
    steps: ["crash", "simulation", "processes"],
  },
  { name: "memory world", paths: ["src/adapters/memory/"], steps: ["crash", "simulation"] },
  { name: "what authors import", paths: ["src/sdk/", "src/index.ts"], steps: ["simulation", "processes", "package"] },

  // The embedded world and its surfaces.
  {
    name: "embedded world",
    paths: ["src/adapters/local/", "src/workers/", "src/compose/", "src/embed/", "src/server/"],
    steps: ["processes", "package", "browser"],
  },
  { name: "words for humans", paths: ["src/render/"], steps: ["browser", "processes", "package"] },
  { name: "command line", paths: ["src/cli/"], steps: ["processes", "package"] },
  { name: "chat template", paths: ["templates/chat/"], steps: ["package", "browser"] },
  { name: "templates", paths: ["templates/", "packages/"], steps: ["processes", "package"] },
  { name: "example agents", paths: ["agents/", "cairn.config.ts"], steps: ["processes", "package", "contract"] },
  { name: "kits", paths: ["src/chaos/", "src/doctor/", "src/testing/"], steps: ["processes", "package"] },

  // HTTP.
  { name: "API", paths: ["src/api/"], steps: ["contract", "browser", "localstack"] },
  { name: "operations", paths: ["src/operations/"], steps: ["contract", "browser", "processes"] },
  { name: "console", paths: ["src/console/", "scripts/console.ts"], steps: ["browser"] },
  { name: "client", paths: ["src/client/"], steps: ["browser", "package"] },

  // What connects to the outside.
  { name: "integrations", paths: ["src/integrations/"], steps: ["processes", "package", "browser"] },
  { name: "tools of MCP servers", paths: ["src/mcp-tools/"], steps: ["processes", "package"] },
  { name: "providers", paths: ["src/providers/"], steps: ["package"] },
  { name: "effects", paths: ["src/effects/", "src/adapters/otlp/", "src/adapters/webhooks/"], steps: ["package"] },
  { name: "LangGraph", paths: ["src/langgraph/"], steps: ["package", "localstack"] },

  // AWS.
  {
    name: "AWS world",
    paths: ["src/adapters/aws/", "functions/", "infra/", "localstack/", "sst.config.ts", "tsconfig.infra.json"],
    steps: ["infra", "localstack", "deployments"],
  },

  // Tests that are steps of their own.
  { name: "crash enumeration", paths: ["test/slow/crash/"], steps: ["crash"] },
  { name: "package tests", paths: ["test/slow/package/"], steps: ["package"] },
  { name: "table of mutants", paths: ["test/mutation/mutants.txt"], steps: [] },
  { name: "runner of mutants", paths: ["test/mutation/", "test/slow/mutants/"], steps: ["mutation"] },
  { name: "process tests", paths: ["test/slow/", "test/process/"], steps: ["processes"] },
  { name: "simulation", paths: ["test/simulation/", "scripts/sim.ts"], steps: ["simulation"] },
  { name: "browser tests", paths: ["test/browser/", "vitest.browser.config.ts"], steps: ["browser"] },
  {
    name: "tests on LocalStack",
    paths: ["test/localstack/", "vitest.localstack.config.ts", "scripts/on-localstack.ts"],
    steps: ["localstack", "deployments"],
  },
  {
    name: "infra tests",
    paths: ["test/deployment/", "vitest.infra.config.ts", "scripts/platform.ts"],
    steps: ["infra"],
  },
  { name: "benchmarks", paths: ["bench/"], steps: ["benchmarks"] },

  // Helpers of tests, by the suites that import them.
  { name: "helpers of the AWS tests", paths: ["test/support/aws/"], steps: ["infra", "browser"] },
  { name: "helpers of process tests", paths: ["test/support/processes/"], steps: ["processes", "package", "browser"] },
  {
    name: "helpers of fast tests",
    paths: ["test/support/providers/", "test/support/rules/", "test/support/values/"],
    steps: [],
  },
  { name: "helpers of effects", paths: ["test/support/services/"], steps: ["browser"] },
  {
    name: "gate",
    paths: ["test/support/gate/", "scripts/verify", "scripts/built.ts", "vitest.config.ts", ".ci/run"],
    steps: "everything",
  },
  { name: "helpers of the kernel's tests", paths: ["test/support/"], steps: ["crash", "simulation", "processes"] },
  { name: "fast tests", paths: ["test/"], steps: [] },

  // Scripts.
  { name: "contract", paths: ["scripts/contract.ts"], steps: ["contract"] },
  {
    name: "packing",
    paths: ["scripts/package.ts", "scripts/packed-readme.ts", "scripts/sizes.ts"],
    steps: ["package"],
  },
  { name: "site", paths: ["site/", "scripts/docs"], steps: ["site"] },
  { name: "Chromium", paths: ["scripts/chromium.ts", "scripts/screenshots.ts"], steps: ["browser"] },
  { name: "cost", paths: ["scripts/cost", "scripts/contention.ts", "scripts/idle.ts"], steps: ["benchmarks"] },
  { name: "scripts", paths: ["scripts/"], steps: [] },
];

/** What a change asks for: the optional steps, each with the rows that asked, and the paths that no row knows. */
export interface Asked {
  readonly steps: ReadonlyMap<OptionalStep, readonly string[]>;
  readonly unknown: readonly string[];
}

const rowFor = (file: string): Row | undefined =>
  TABLE.find(({ paths }) => paths.some((path) => (path.endsWith(".md") ? file === path : file.startsWith(path))));

export function stepsFor(files: readonly string[]): Asked {
  const steps = new Map<OptionalStep, Set<string>>();
  const unknown: string[] = [];
  for (const file of files) {
    const row = rowFor(file);
    if (row === undefined) unknown.push(file);
    const wanted = row === undefined || row.steps === "everything" ? OPTIONAL_STEPS : row.steps;
    for (const step of wanted) steps.set(step, (steps.get(step) ?? new Set()).add(row?.name ?? file));
  }
  const inOrder = OPTIONAL_STEPS.filter((step) => steps.has(step));
  return { steps: new Map(inOrder.map((step) => [step, [...(steps.get(step) ?? [])]])), unknown };
}
