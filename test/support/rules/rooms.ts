/** The table of rooms: what each folder may import of cairn and of packages. */
import { doorsOf, featureOf, isKernel, isPureInFeature } from "./doors.ts";
import { type Check, importing, wholeFile } from "./rules.ts";
import type { Import } from "./source.ts";

/** The layers of `src`, lowest first. None imports a higher one, not even a type of it. */
const LAYERS = [
  "core",
  "protocol",
  "codec",
  "ports",
  "history",
  "engine",
  "features",
  "operations",
  "maintenance",
  "providers",
  "sdk",
] as const;

/** Paths of the layers below that one, and of these parts of its own. */
const below = (layer: (typeof LAYERS)[number], ...parts: readonly string[]): RegExp =>
  new RegExp(
    `^src/(${[...LAYERS.slice(0, LAYERS.indexOf(layer)), ...parts.map((part) => `${layer}/${part}`)].join("|")})/`,
  );

interface Room {
  readonly ours: RegExp;
  readonly packages: RegExp;
}

/** What each room may import besides itself: rooms of cairn, and packages. */
const ROOMS: Readonly<Record<string, Room>> = {
  "src/core": { ours: /^$/, packages: /^$/ },
  "src/protocol": { ours: /^src\/core\//, packages: /^$/ },
  "src/codec": { ours: /^src\/(core|protocol)\//, packages: /^(zod|canonicalize|node:crypto|node:zlib)$/ },
  "src/ports": { ours: /^src\/(core|protocol)\//, packages: /^(zod|@ai-sdk\/provider)$/ },
  "src/history": { ours: below("history"), packages: /^zod$/ },
  "src/engine/context": { ours: below("engine"), packages: /^zod$/ },
  "src/engine/tools": { ours: below("engine", "context"), packages: /^zod$/ },
  "src/engine/model": { ours: below("engine", "context", "tools"), packages: /^(zod|@ai-sdk\/provider|node:crypto)$/ },
  "src/engine/loop": { ours: below("engine", "context", "tools", "model"), packages: /^zod$/ },
  "src/engine": { ours: below("engine"), packages: /^$/ },
  // The composition of the kernel names every feature that has rules of its own.
  "src/features/compose.ts": { ours: /^src\/(core|ports|features)\//, packages: /^$/ },
  // A feature imports the kernel, and no other feature. Its files named `core` are pure: `PURE`.
  "src/features": { ours: below("features"), packages: /^(zod|croner|node:crypto)$/ },
  "src/operations": { ours: below("operations"), packages: /^zod$/ },
  "src/maintenance": { ours: below("maintenance"), packages: /^zod$/ },
  "src/providers": { ours: below("providers"), packages: /^(zod|@ai-sdk\/.+)$/ },
  "src/sdk": { ours: below("sdk"), packages: /^(zod|@ai-sdk\/.+|node:.+)$/ },
  "src/api": {
    ours: /^src\/(core|protocol|codec|ports|history|engine|features|operations|maintenance|sdk)\//,
    packages: /^(hono|@hono\/zod-openapi|jose|zod)$/,
  },
  // The chat protocols, AG-UI, A2A and MCP: each is a client of the API, in the same process or outside.
  "src/integrations": {
    ours: /^src\/(core|codec|ports|features|operations|api|client)\//,
    packages: /^(hono|zod|@modelcontextprotocol\/server(\/stdio)?|node:(module|stream|util))$/,
  },
  "src/server": {
    ours: /^src\/((protocol|ports|operations|api|integrations)\/|sdk\/readers\.ts$)/,
    packages: /^(hono|@hono\/node-server|node:(child_process|crypto|fs|http|path|url|util))$/,
  },
  "src/adapters/aws": {
    ours: /^src\/(core|protocol|codec|ports)\//,
    packages: /^(zod|@aws-sdk\/.+|@smithy\/.+|@aws-lambda-powertools\/.+|node:.+)$/,
  },
  "src/adapters/local": { ours: /^src\/(core|protocol|codec|ports)\//, packages: /^node:.+$/ },
  "src/adapters/webhooks": { ours: /^src\/ports\//, packages: /^$/ },
  "src/adapters/otlp": { ours: /^src\/ports\//, packages: /^@opentelemetry\/.+$/ },
  // What drives runs on a machine with processes: it stands above the store that it is given.
  "src/workers": {
    ours: /^src\/((core|protocol|codec|ports)\/|adapters\/local\/(clock|random|process-identity|store\/store-errors)\.ts$)/,
    packages: /^node:.+$/,
  },
  "src/adapters/memory": { ours: /^src\/(core|protocol|codec|ports)\//, packages: /^node:crypto$/ },
  "src/testing/kit": {
    ours: /^src\/(core|protocol|codec|ports|history|engine|features|operations|maintenance|providers|sdk|adapters\/memory|testing)\//,
    packages: /^(zod|node:(assert|perf_hooks|timers|util))$/,
  },
  "src/testing": { ours: /^src\/(core|protocol|ports)\//, packages: /^node:(assert|fs|path)$/ },
  "src/doctor": {
    ours: /^src\/(core\/|codec\/value\.ts$|sdk\/|engine\/|features\/|providers\/|ports\/|history\/|protocol\/limits\.ts$)/,
    packages: /^zod$/,
  },
  "src/chaos": {
    ours: /^src\/(core|codec|protocol|ports|history|engine|features|operations|maintenance|sdk|providers|adapters\/local|workers|compose|testing)\//,
    packages: /^node:.+$/,
  },
  // What a human reads of a run, for the command line, the console and errors.
  "src/render": {
    ours: /^src\/(core|protocol|codec|ports|history|features|operations|doctor)\//,
    packages: /^node:util$/,
  },
  // The composition root: it opens a configured world. It stands below nothing that it composes.
  "src/compose": {
    ours: /^src\/(core|protocol|codec|ports|history|engine|features|operations|maintenance|providers|sdk|adapters|workers|render|testing)\//,
    packages: /^(zod|node:.+)$/,
  },
  "src/cli": {
    ours: /^src\/(core|protocol|codec|ports|history|features|operations|providers|sdk|render|doctor|chaos|testing|compose|api|client|integrations|server)\//,
    packages: /^(commander|zod|node:.+)$/,
  },
  "src/client": {
    ours: /^src\/(core|ports|operations|codec|api|compose)\//,
    packages: /^(zod|node:(os|path))$/,
  },
  // It runs in a browser. Of the other rooms it imports what is pure, and types.
  "src/console": {
    ours: /^src\/(core|protocol|ports|history|features|operations|codec|render)\//,
    packages: /^(preact|preact\/hooks|@preact\/signals|@tanstack\/virtual-core)$/,
  },
  "src/embed": {
    ours: /^src\/(core|protocol|ports|features|operations|sdk|api|integrations|server|compose|client)\//,
    packages: /^(hono|@hono\/node-server|node:http)$/,
  },
  // A target brings its own client: what an effect knows of it is a type of its own.
  "src/effects": {
    ours: /^src\/(core|codec|ports|sdk)\//,
    packages: /^(zod|node:crypto)$/,
  },
  "src/mcp-tools": {
    ours: /^src\/(core|codec|ports|sdk)\//,
    packages: /^(zod|@modelcontextprotocol\/client(\/(stdio|validators\/ajv))?|node:(child_process|fs))$/,
  },
  "src/langgraph": {
    ours: /^src\/((ports|history|client)\/|protocol\/foreign\.ts$)/,
    packages: /^(zod|@langchain\/(core|langgraph-checkpoint)(\/.+)?|node:(crypto|util))$/,
  },
  "src/index.ts": { ours: /^src\/(sdk|ports|core)\//, packages: /^$/ },
  "cairn.config.ts": { ours: /^src\/sdk\/config\.ts$/, packages: /^$/ },
  "vitest.config.ts": { ours: /^test\/support\/gate\//, packages: /^vitest$/ },
  "vitest.browser.config.ts": { ours: /^test\/support\/gate\//, packages: /^vitest$/ },
  "vitest.infra.config.ts": { ours: /^test\/support\/gate\//, packages: /^vitest$/ },
  "vitest.localstack.config.ts": { ours: /^test\/support\/gate\//, packages: /^vitest$/ },
  agents: { ours: /^src\/index\.ts$/, packages: /^(cairn-run|zod|@ai-sdk\/.+|node:.+)$/ },
  "templates/chat/page": { ours: /^$/, packages: /^(vite|ai|@ai-sdk\/.+|react|react-dom)$/ },
  templates: { ours: /^src\/(index|testing\/kit\/index)\.ts$/, packages: /^(cairn-run|zod|node:.+)$/ },
  functions: { ours: /^src\//, packages: /^(cairn-(agents|console)|hono)$/ },
  "sst.config.ts": { ours: /^infra\//, packages: /^node:.+$/ },
  infra: {
    ours: /^src\/(core\/|protocol\/|sdk\/|ports\/|codec\/value\.ts$|server\/built-console\.ts$|adapters\/aws\/(described-agents|function-environment|metrics|machine\/(asl|asl-states|machine-input)|table\/(attributes|keys|schema|store-identity))\.ts$)/,
    packages: /^(esbuild|@pulumi\/.+|sst-auto|sst-components|captured-description|node:.+)$/,
  },
  localstack: { ours: /^(src|infra|functions)\//, packages: /^(@aws-sdk\/.+|zod|node:.+)$/ },
  scripts: {
    ours: /^(src|agents|infra|bench|localstack|test\/(simulation|support\/(aws|rules)))\//,
    packages: /^(rolldown|vite|vitest|playwright-core|node:.+)$/,
  },
  bench: { ours: /^((src|agents)\/|scripts\/(marks|bundle)\.ts$)/, packages: /^(cairn-run|zod|node:.+)$/ },
  "test/localstack": {
    ours: /^(src|test|infra|localstack|functions|agents)\//,
    packages: /^(vitest|cairn-run|zod|@aws-sdk\/.+|node:.+)$/,
  },
  "test/browser": {
    ours: /^(src|test|agents|scripts|templates)\//,
    packages: /^(vitest|playwright-core|esbuild|ai|@ai-sdk\/.+|react|react-dom|cairn-run|zod|node:.+)$/,
  },
  "test/effects": {
    ours: /^(src|test)\//,
    packages: /^(vitest|nodemailer|@electric-sql\/pglite|zod|node:.+)$/,
  },
  "test/support/services": {
    ours: /^(src|test)\//,
    packages: /^(vitest|nodemailer|smtp-server|@aws-sdk\/client-(s3|sqs|sesv2)|zod|node:.+)$/,
  },
  test: {
    ours: /^(src|agents|bench|scripts|functions|infra|localstack|templates\/chat\/page)\/|^[^/]+$/,
    packages:
      /^(vitest|rolldown|esbuild|vite|fast-check|asl-validator|@hono\/node-server|jose|standardwebhooks|@langchain\/.+|@modelcontextprotocol\/.+|@ag-ui\/.+|@a2a-js\/sdk(\/.+)?|@secretlint\/.+|playwright-core|axe-core|cairn-run|zod|ai|@ai-sdk\/.+|typescript|@smithy\/eventstream-codec|node:.+)$/,
  },
};

/** The table of rooms for readers: what each may import of cairn and of packages. */
export function tableOfRooms(): string {
  const plain = ({ source }: RegExp): string =>
    source
      .replaceAll(/[\\^$]/g, "")
      .replaceAll("|", " ")
      .trim();
  const cell = (what: RegExp): string => (plain(what) === "" ? "nothing" : `\`${plain(what)}\``);
  const rows = Object.entries(ROOMS).map(
    ([room, { ours, packages }]) => `| \`${room}\` | ${cell(ours)} | ${cell(packages)} |`,
  );
  return ["| room | of cairn | of packages |", "|---|---|---|", ...rows].join("\n");
}

const roomOf = (path: string): string =>
  Object.keys(ROOMS).find((room) => path === room || path.startsWith(`${room}/`)) ?? "";

/** What the pure files of a feature import. */
const PURE: Room = { ours: /^src\/core\//, packages: /^$/ };

/** A feature is imported by its own files, by the rooms above, and through the doors (`doors.ts`). */
function mayEnter(path: string, from: string, room: Room): boolean {
  const feature = featureOf(from);
  if (feature === null) return room.ours.test(from);
  if (feature === featureOf(path)) return !isPureInFeature(path) || isPureInFeature(from);
  if (doorsOf(path).includes(feature)) return true;
  return featureOf(path) === null && !isKernel(path) && room.ours.test(from);
}

/** A file in an unknown room is a violation, too: declare here what a new room may import. */
export const trespassing: Check = {
  file: ({ path, imports }) => {
    const name = roomOf(path);
    const room = isPureInFeature(path) ? PURE : ROOMS[name];
    if (room === undefined) return [wholeFile("lies in no known room")];
    const isOwn = (from: string): boolean => featureOf(from) === null && roomOf(from) === name;
    const isAllowed = ({ from, ours }: Import): boolean =>
      ours ? isOwn(from) || mayEnter(path, from, room) : room.packages.test(from);
    const entered = new Set(imports.map(({ from }) => featureOf(from)));
    const unused = doorsOf(path).filter((feature) => !entered.has(feature));
    return [
      ...imports.filter((each) => !isAllowed(each)).map(importing),
      ...unused.map((feature) => wholeFile(`has a door to ${feature} that it does not need: remove it from doors.ts`)),
    ];
  },
};
