import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { run } from "../command.ts";

/** One object of a manifest. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

/** Reads the objects that a directory's `kustomization.yaml` lists. Throws on invalid YAML and on repeated keys. */
export async function readManifests(directory: string): Promise<Manifest[]> {
  const { resources } = parse(await readFile(join(directory, "kustomization.yaml"), "utf8")) as { resources: string[] };
  const files = await Promise.all(resources.map((name) => readFile(join(directory, name), "utf8")));
  return files.flatMap((text) =>
    parseAllDocuments(text).map((document) => {
      const [error] = document.errors;
      if (error) throw error;
      return document.toJS() as Manifest;
    }),
  );
}

/**
 * Validates objects against the schemas of the Kubernetes API, and returns what is wrong, one line for each problem. The
 * schemas know the types, the formats and what is required; the type check knows which fields there are.
 */
export async function manifestErrors(manifests: readonly Manifest[]): Promise<string[]> {
  return [...(await schemaErrors(manifests)), ...(await unknownFields(manifests))];
}

const moduleOf = ({ apiVersion, kind }: Manifest): string => `kubernetes-models/${apiVersion}/${kind}`;

type Model = new (data: Manifest) => { validate(): void };

async function schemaErrors(manifests: readonly Manifest[]): Promise<string[]> {
  const errors: string[] = [];
  for (const manifest of manifests) {
    const { [manifest.kind]: Model } = (await import(moduleOf(manifest))) as Record<string, Model | undefined>;
    if (!Model) throw new Error(`there is no model of ${manifest.apiVersion} ${manifest.kind}`);
    try {
      new Model(manifest).validate();
    } catch (error) {
      errors.push(`${manifest.kind} ${manifest.metadata.name}: ${(error as Error).message}`);
    }
  }
  return errors;
}

// Below the project, where the types of the models are found.
const CACHE = ".cache/manifests";
const TSC = "node_modules/.bin/tsc";
const OPTIONS = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2024"];

async function unknownFields(manifests: readonly Manifest[]): Promise<string[]> {
  const folder = join(CACHE, crypto.randomUUID());
  await mkdir(folder, { recursive: true });
  try {
    const file = join(folder, "manifests.ts");
    const lines = manifests.map((manifest, index) => {
      const type = `import("${moduleOf(manifest)}").I${manifest.kind}`;
      return `export const manifest${index}: ${type} = ${JSON.stringify(manifest)};`;
    });
    await writeFile(file, lines.join("\n"));
    const { code, stdout, stderr } = await run(resolve(TSC), ["--ignoreConfig", ...OPTIONS, file]);
    if (code === 0) return [];
    return (stdout + stderr).split("\n").filter((line) => /error TS/.test(line));
  } finally {
    await rm(folder, { recursive: true });
  }
}
