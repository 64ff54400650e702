/**
 * The external service of agents in real processes: it records every request and
 * every effect in its own file. It outlives its callers, and its records are independent of cairn.
 *
 * It does not sync to disk: a killed process loses no written data, and the machine keeps running.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { LIMITS } from "../gate/limits.ts";

interface EffectRequest {
  readonly tool: string;
  /** The calling run, by the label in its task. */
  readonly of: string;
  readonly step: number;
  readonly key: string;
}

export interface RecordedRequest extends EffectRequest {
  readonly pid: number;
}

export interface ExternalService {
  /** Records a request before any effect. */
  ask(order: EffectRequest): void;
  /** Each call is an effect, unless its key is honoured and known. */
  happen(order: EffectRequest, options: { readonly honoursKeys: boolean }): void;
  knows(key: string): boolean;
  /** In the order of their arrival. */
  requests(): readonly RecordedRequest[];
  effects(): readonly RecordedRequest[];
  close(): void;
}

export function externalService(dir: string): ExternalService {
  const file = new DatabaseSync(join(dir, "other-side.sqlite"), { timeout: LIMITS.eventMs });
  file.exec(`
    PRAGMA synchronous = OFF;
    CREATE TABLE IF NOT EXISTS requests (tool TEXT, of TEXT, step INTEGER, key TEXT, pid INTEGER);
    CREATE TABLE IF NOT EXISTS effects (tool TEXT, of TEXT, step INTEGER, key TEXT, pid INTEGER, honoured INTEGER);
    CREATE UNIQUE INDEX IF NOT EXISTS honouredKeys ON effects (key) WHERE honoured = 1;
    CREATE INDEX IF NOT EXISTS keys ON effects (key);
  `);
  const request = file.prepare("INSERT INTO requests VALUES (?, ?, ?, ?, ?)");
  const effect = file.prepare("INSERT INTO effects VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING");
  const known = file.prepare("SELECT 1 FROM effects WHERE key = ?");
  const values = ({ tool, of, step, key }: EffectRequest) => [tool, of, step, key, process.pid] as const;
  const rows = (table: "requests" | "effects"): readonly RecordedRequest[] =>
    file
      .prepare(`SELECT tool, of, step, key, pid FROM ${table} ORDER BY rowid`)
      .all() as unknown as readonly RecordedRequest[];
  return {
    ask: (order) => void request.run(...values(order)),
    happen: (order, { honoursKeys }) => void effect.run(...values(order), honoursKeys ? 1 : 0),
    knows: (key) => known.get(key) !== undefined,
    requests: () => rows("requests"),
    effects: () => rows("effects"),
    close: () => file.close(),
  };
}
