/**
 * The edges of the protocol: the moments at which a crash shows whether it holds. Something may be told of each edge
 * as it is reached, in the real process; whoever is told decides whether the process goes on, hangs or is killed.
 */
import type { Agent, Tool } from "../ports/agent.ts";
import type { World } from "../ports/world.ts";

const EDGE_NAMES = ["claim", "intent", "effect", "undo", "put", "release"] as const;

export interface Edge {
  readonly when: "before" | "after";
  /** The claim; commit A; a tool's run; the undo of one; the snapshot's PUT; the commit that releases. */
  readonly name: (typeof EDGE_NAMES)[number];
  /** Which one: the tool of an effect or undo, the epoch that a claim follows, the version that a put or commit makes. */
  readonly at: string;
}

export type OnEdge = (edge: Edge) => Promise<void>;

export function worldWithEdges(world: World, onEdge: OnEdge): World {
  const { table, objects } = world;
  return {
    ...world,
    table: {
      create: (creation) => table.create(creation),
      claim: (claim) => around(onEdge, { name: "claim", at: String(claim.entry.epoch) }, () => table.claim(claim)),
      commit: (commit) => {
        const at = String(commit.version + 1);
        return around(onEdge, { name: commit.release ? "release" : "intent", at }, () => table.commit(commit));
      },
      park: (park) => table.park(park),
      deliver: (delivery) => table.deliver(delivery),
      request: (request) => table.request(request),
      handOver: (handOver) => table.handOver(handOver),
      tell: (of) => table.tell(of),
      redrive: (redrive) => table.redrive(redrive),
      purge: (of) => table.purge(of),
      keepKey: (tombstone) => table.keepKey(tombstone),
      forgetKey: (of) => table.forgetKey(of),
      readKey: (run, now) => table.readKey(run, now),
      read: (run, now) => table.read(run, now),
      inbox: (of) => table.inbox(of),
      takeTurn: (turn) => table.takeTurn(turn),
      cursorOf: (name) => table.cursorOf(name),
      clearInbox: (of) => table.clearInbox(of),
      list: (query) => table.list(query),
      alive: (query) => table.alive(query),
      forget: (of) => table.forget(of),
      storeId: () => table.storeId(),
    },
    objects: {
      get: (key) => objects.get(key),
      next: (after) => objects.next(after),
      removeUnder: (prefix) => objects.removeUnder(prefix),
      storeId: () => objects.storeId(),
      put: (key, bytes) => {
        const version = /\/snapshots\/0*(\d+)-/.exec(key)?.[1];
        if (version === undefined) return objects.put(key, bytes);
        return around(onEdge, { name: "put", at: version }, () => objects.put(key, bytes));
      },
    },
  };
}

export function agentWithEdges(agent: Agent, onEdge: OnEdge): Agent {
  const tools = Object.entries(agent.tools).map(([name, tool]) => [name, toolWithEdges(tool, name, onEdge)] as const);
  return { ...agent, tools: Object.fromEntries(tools) };
}

function toolWithEdges(tool: Tool, at: string, onEdge: OnEdge): Tool {
  const { undo } = tool;
  return {
    ...tool,
    run: (context) => around(onEdge, { name: "effect", at }, async () => tool.run(context)),
    undo: undo && {
      ...undo,
      run: (context) => around(onEdge, { name: "undo", at }, async () => undo.run(context)),
    },
  };
}

async function around<T>(onEdge: OnEdge, edge: Omit<Edge, "when">, work: () => Promise<T>): Promise<T> {
  await onEdge({ when: "before", ...edge });
  const done = await work();
  await onEdge({ when: "after", ...edge });
  return done;
}

/** `before:claim:3`, `after:effect:bookFlight`; null where the text is no edge. */
export function parseEdge(text: string): Edge | null {
  const [when, name, at, ...rest] = text.split(":");
  const known = EDGE_NAMES.find((each) => each === name);
  if ((when !== "before" && when !== "after") || known === undefined || !at || rest.length > 0) return null;
  return { when, name: known, at };
}
