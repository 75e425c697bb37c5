import { z } from "zod";

/** The parts of a JSON Schema that a reference shows. */
interface Node {
  readonly $ref?: string;
  readonly anyOf?: readonly Node[];
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly items?: Node;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
}

/** Returns a Markdown table of all keys of a configuration or another object, with nested keys flattened. */
export function configReference(schema: z.ZodType): string {
  const { $defs = {}, ...root } = z.toJSONSchema(schema, { io: "input" }) as Node & Definitions;
  const rows = flatten("", resolveDefinitions(root, $defs));
  return ["| key | values | default | meaning |", "| --- | --- | --- | --- |", ...rows].join("\n");
}

interface Definitions {
  readonly $defs?: Readonly<Record<string, Node>>;
}

/** Puts each shared definition in the places that refer to it. None contains itself. */
function resolveDefinitions(node: Node, definitions: NonNullable<Definitions["$defs"]>): Node {
  return JSON.parse(
    JSON.stringify(node, (_key, value: Node) => {
      const name = value?.$ref?.replace("#/$defs/", "");
      return name === undefined ? value : { ...definitions[name], ...value, $ref: undefined };
    }),
  ) as Node;
}

/** Returns the JSON Schema of a configuration, for validation in editors. */
export function configJsonSchema(schema: z.ZodType): string {
  return JSON.stringify(z.toJSONSchema(schema, { io: "input" }), undefined, 2);
}

function flatten(prefix: string, node: Node): string[] {
  return Object.entries(node.properties ?? {}).flatMap(([name, child]) => {
    const key = prefix + name;
    if (child.properties) return flatten(`${key}.`, child);
    const entries = child.items?.properties ? flatten(`${key}[].`, child.items) : [];
    const isRequired = node.required?.includes(name) ?? false;
    return [`| \`${key}\` | ${values(child)} | ${fallback(child, isRequired)} | ${meaning(child)} |`].concat(entries);
  });
}

function values(node: Node): string {
  if (node.anyOf) return node.anyOf.map(values).join(", or ");
  if (node.enum) return node.enum.map((value) => `\`${String(value)}\``).join(", ");
  if (node.type === "array") return `list of ${node.items?.type ?? "anything"}s`;
  const low = node.minimum ?? node.exclusiveMinimum;
  const high = node.maximum !== undefined && node.maximum < Number.MAX_SAFE_INTEGER ? node.maximum : undefined;
  const range = [low === undefined ? "" : ` from ${low}`, high === undefined ? "" : ` to ${high}`].join("");
  return `${node.type ?? "anything"}${node.type === "string" ? "" : range}`;
}

function fallback(node: Node, isRequired: boolean): string {
  if (node.default !== undefined) return `\`${JSON.stringify(node.default)}\``;
  return isRequired ? "required" : "none";
}

function meaning(node: Node): string {
  const example = node.examples?.[0];
  const text = node.description ?? "";
  return (example === undefined ? text : `${text} Example: \`${JSON.stringify(example)}\``).replaceAll(
    "|",
    String.raw`\|`,
  );
}
