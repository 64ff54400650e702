/** The routes that the operation table describes completely, and a request that each accepts. */
import type { AnyOperation, Scope } from "../../../src/operations/operation.ts";
import { ROWS, type OperationName } from "../../../src/operations/table.ts";
import { type OperationRows, plainRoutes } from "../../../src/api/routes.ts";
import type { ApiRequest } from "./api-harness.ts";

/** One route of the table. */
interface PlainRoute {
  /** The name of its operation. */
  readonly name: string;
  readonly operation: AnyOperation;
  readonly method: string;
  /** The path for a run. */
  readonly path: (run: string) => string;
  readonly hasRun: boolean;
  readonly hasBody: boolean;
  readonly hasQuery: boolean;
  /** It takes a resume token as its precondition. */
  readonly isSteering: boolean;
}

/** The bodies of the operations that need a field. */
const BODIES: { readonly [N in OperationName]?: object } = {
  decide: { as: "approve" },
  fork: { at: 0 },
  reconcile: { as: "succeeded" },
  assign: { to: "bob" },
};

const VALUES: Readonly<Record<string, string>> = {
  gate: "c1#1",
  call: "c1",
  version: "0",
  agent: "actor",
  endpoint: "0123456789abcdef",
};

export const PLAIN_ROUTES: readonly PlainRoute[] = plainRoutes(ROWS).map(({ operation, route }) => ({
  name: route.operationId ?? "",
  operation,
  method: route.method.toUpperCase(),
  path: (run) =>
    route.path.replaceAll(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent({ ...VALUES, run }[key] ?? key)),
  hasRun: route.path.includes("{run}"),
  hasBody: route.request?.body !== undefined,
  hasQuery: route.request?.query !== undefined,
  isSteering: route.responses[412] !== undefined,
}));

/** Every route of the table, those with a handler of their own included, with a request for a run. */
export const ALL_ROUTES: readonly {
  readonly name: string;
  readonly scope: Scope;
  readonly request: (run: string) => ApiRequest;
}[] = Object.entries(ROWS).flatMap(([name, { scope, http }]) => {
  if (http === undefined) return [];
  const plain = PLAIN_ROUTES.find((each) => each.name === name);
  const designed = (run: string): ApiRequest => ({
    ...{ method: http.method.toUpperCase(), path: http.path.replace("{run}", run) },
    ...(http.method === "post" && { json: DESIGNED_BODIES[name as OperationName] ?? {} }),
  });
  return [{ name, scope, request: plain === undefined ? designed : (run: string) => requestFor(plain, run) }];
});

const DESIGNED_BODIES: { readonly [N in OperationName]?: object } = { start: { agent: "actor" }, send: { text: "hi" } };

/** A request that the route accepts. */
export const requestFor = ({ name, method, path, hasBody }: PlainRoute, run: string): ApiRequest => ({
  ...{ method, path: path(run) },
  ...(hasBody && { json: BODIES[name as OperationName] ?? {} }),
});

/** The operation table, whose operation of this route does this instead. */
export const performing = ({ name, operation }: PlainRoute, run: AnyOperation["run"]): OperationRows => ({
  ...ROWS,
  [name]: { ...operation, run },
});
