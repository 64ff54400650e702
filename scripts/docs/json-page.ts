/** How the schemas of what commands print with `--json` are written: their file, and the table of their page. */

interface Schema {
  readonly $ref?: string;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, unknown>>;
}

/** What a command prints: one document, or lines, each of which is one. */
export interface Printed {
  readonly document?: Schema;
  readonly line?: Schema;
}

export interface JsonSchemas {
  readonly commands: Readonly<Record<string, Printed>>;
  readonly error: Schema;
  readonly $defs: Readonly<Record<string, Schema>>;
}

/** One line for each command and each definition, so that a change shows where it is. */
export function schemasText(schemas: JsonSchemas): string {
  const block = (entries: object): string =>
    Object.entries(entries)
      .map(([name, schema]) => `  ${JSON.stringify(name)}: ${JSON.stringify(schema)}`)
      .join(",\n");
  const { commands, $defs, ...others } = schemas;
  const first = Object.entries(others).map(([name, value]) => `"${name}": ${JSON.stringify(value)},\n`);
  return `{\n${first.join("")}"commands": {\n${block(commands)}\n},\n"$defs": {\n${block($defs)}\n}\n}\n`;
}

const SHOWN_MAX = 8;

/** The fields of the objects that a schema describes, in their order. */
function fieldsOf(schema: Schema, { $defs }: JsonSchemas): readonly string[] {
  const ofDefinition = schema.$ref === undefined ? undefined : $defs[schema.$ref.replace("#/$defs/", "")];
  const inner = [...(ofDefinition === undefined ? [] : [ofDefinition]), ...(schema.anyOf ?? [])];
  const names = [
    ...Object.keys(schema.properties ?? {}),
    ...inner.flatMap((each) => fieldsOf(each, { $defs } as JsonSchemas)),
  ];
  return [...new Set(names)];
}

export function jsonTable(schemas: JsonSchemas): string {
  const rows = Object.entries(schemas.commands).map(([command, { document, line }]) => {
    const printed = [document === undefined ? [] : ["a document"], line === undefined ? [] : ["lines"]].flat();
    const fields = fieldsOf({ anyOf: [document, line].filter((each) => each !== undefined) }, schemas);
    const shown = fields.slice(0, SHOWN_MAX).map((name) => `\`${name}\``);
    const more = fields.length > SHOWN_MAX ? [`${fields.length - SHOWN_MAX} more`] : [];
    return `| \`${command}\` | ${printed.join(", ")} | ${[...shown, ...more].join(", ")} |`;
  });
  return ["| command | prints | with the fields |", "|---|---|---|", ...rows].join("\n");
}

const BETWEEN = /(?<=<!-- json:begin -->\n)[^]*(?=\n<!-- json:end -->)/;

/** The page with the table as the schemas have it. */
export const pageWith = (page: string, schemas: JsonSchemas): string => page.replace(BETWEEN, () => jsonTable(schemas));
