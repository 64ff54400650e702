/** The secrets of the in-memory world: fixed values, for tests of agents. */
import type { Secrets } from "../../ports/secrets.ts";

/** Secrets with these values by name. */
export function memorySecrets(values: Readonly<Record<string, string>>): Secrets {
  const names = new Set(Object.keys(values));
  return {
    get: async (name) => {
      const value = Object.hasOwn(values, name) ? values[name] : undefined;
      if (value !== undefined) return { kind: "found", value };
      return { kind: "absent", where: "the values given to memorySecrets", mend: `memorySecrets({ ${name}: "..." })` };
    },
    declare: async (declared) => {
      for (const name of declared) names.add(name);
    },
    declared: async () => [...names],
  };
}
