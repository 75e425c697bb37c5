import { readFileSync } from "node:fs";

/** A layer as a real tool wrote it; how is in the fixtures' README. */
export interface LayerFixture {
  readonly blob: Buffer;
  readonly diffId: string;
  readonly annotations: Readonly<Record<string, string>>;
}

export function layerFixture(name: "skopeo-1.18" | "skopeo-1.9"): LayerFixture {
  const path = new URL(`../../fixtures/layer-parts/${name}`, import.meta.url);
  const described = JSON.parse(readFileSync(`${path.pathname}.json`, "utf8")) as Omit<LayerFixture, "blob">;
  return { ...described, blob: readFileSync(`${path.pathname}.tar.zst`) };
}
