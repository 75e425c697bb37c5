import { readFileSync } from "node:fs";

const FILES = { "skopeo-1.18": "tar.zst", "skopeo-1.9": "tar.zst", estargz: "tar.gz" } as const;

/** A layer as a real tool wrote it; how is in the fixtures' README. */
export interface LayerFixture {
  readonly blob: Buffer;
  readonly diffId: string;
  readonly annotations: Readonly<Record<string, string>>;
}

export function layerFixture(name: keyof typeof FILES): LayerFixture {
  const path = new URL(`../../fixtures/layer-parts/${name}`, import.meta.url);
  const described = JSON.parse(readFileSync(`${path.pathname}.json`, "utf8")) as Omit<LayerFixture, "blob">;
  return { ...described, blob: readFileSync(`${path.pathname}.${FILES[name]}`) };
}
