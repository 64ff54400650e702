/** Secrets of the world in memory: those that it is given, for tests of one's own agents. */
import type { Secrets } from "../../ports/secrets.ts";

export function memorySecrets(values: Readonly<Record<string, string>>): Secrets {
  const names = new Set(Object.keys(values));
  return {
    get: async (name) => {
      const value = Object.hasOwn(values, name) ? values[name] : undefined;
      if (value !== undefined) return { kind: "found", value };
      return { kind: "absent", where: "what the world in memory was given", mend: `memorySecrets({ ${name}: "..." })` };
    },
    declare: async (declared) => {
      for (const name of declared) names.add(name);
    },
    declared: async () => [...names],
  };
}
