import { beforeEach, describe, expect, test } from "vitest";
import { KnownIndexes } from "../../../../src/agent/download/known-indexes.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const image = (digest: string) => ({ registry: "registry.example.com", repository: "app", digest });
const FOUND = { digest: "", blobs: [], receivedBytes: 100 };

describe("what a registry has answered about an index", () => {
  let clock: FakeClock;
  let indexes: KnownIndexes;
  beforeEach(() => {
    clock = new FakeClock();
    indexes = new KnownIndexes(clock);
  });

  test("is used by one download, also where there is no index", () => {
    indexes.keep("web", image("sha256:a"), FOUND);
    indexes.keep("web", image("sha256:b"), undefined);
    expect(indexes.take("web", image("sha256:a"))?.found).toBe(FOUND);
    expect(indexes.take("web", image("sha256:b"))).toMatchObject({ found: undefined });
    expect(indexes.take("web", image("sha256:a"))).toBeUndefined();
    expect(indexes.take("web", image("sha256:b"))).toBeUndefined();
  });

  test("is for the app and the image that it was asked for", () => {
    indexes.keep("web", image("sha256:a"), FOUND);
    expect(indexes.take("other", image("sha256:a"))).toBeUndefined();
    expect(indexes.take("web", { ...image("sha256:a"), repository: "other" })).toBeUndefined();
    expect(indexes.take("web", image("sha256:a"))).toBeDefined();
  });

  test("is forgotten where the download waits", async () => {
    indexes.keep("web", image("sha256:a"), FOUND);
    await clock.advance(600_001);
    expect(indexes.take("web", image("sha256:a"))).toBeUndefined();
  });

  test("takes no more memory where many images are priced and none is downloaded", () => {
    for (let number = 0; number < 100; number++) indexes.keep("web", image(`sha256:${number}`), FOUND);
    const kept = Array.from({ length: 100 }, (_, number) => indexes.take("web", image(`sha256:${number}`)));
    expect(kept.flatMap((answer, number) => (answer ? [number] : []))).toEqual(
      Array.from({ length: 32 }, (_, number) => number + 68),
    );
  });
});
