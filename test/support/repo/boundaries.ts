import type { ModuleImports } from "./imports.ts";

/** Import rules of a folder's modules. The first part that contains a module applies. */
interface Part {
  readonly folder: string;
  /** Other folders of the project that it may import. */
  readonly mayImport: readonly string[];
  /** Packages it may import. Absent: any package and built-in module. */
  readonly packages?: readonly string[];
}

const PARTS: readonly Part[] = [
  { folder: "src/protocol/", mayImport: [], packages: ["zod"] },
  { folder: "src/lib/", mayImport: ["src/protocol/"] },
  { folder: "src/agent/core/", mayImport: ["src/protocol/"], packages: [] },
  { folder: "src/agent/", mayImport: ["src/protocol/", "src/lib/"] },
  { folder: "src/control-plane/core/", mayImport: ["src/protocol/"], packages: [] },
  { folder: "src/control-plane/", mayImport: ["src/protocol/", "src/lib/"] },
  { folder: "src/edgectl/", mayImport: ["src/protocol/", "src/lib/"] },
  { folder: "src/console/", mayImport: ["src/protocol/"] },
];

/** Packages that only one folder may import, so that they can be replaced. */
const OWNERS: Readonly<Record<string, string>> = {
  dockerode: "src/agent/engine/docker/",
  systeminformation: "src/agent/telemetry/",
};

/** Violations of the layout's rules by a module of src/, one sentence each. */
export function violations({ path, files, packages }: ModuleImports): string[] {
  const part = PARTS.find(({ folder }) => path.startsWith(folder));
  if (!part) return [`${path} is in no folder of the layout`];
  const reachable = [part.folder, ...part.mayImport];
  return [
    ...files.filter((file) => !reachable.some((folder) => file.startsWith(folder))),
    ...packages.filter((name) => part.packages?.includes(name) === false),
    ...packages.filter((name) => OWNERS[name] !== undefined && !path.startsWith(OWNERS[name])),
  ].map((target) => `${path} must not import ${target}`);
}
