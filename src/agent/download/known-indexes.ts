import type { Clock } from "../../lib/clock.ts";
import type { FoundArtifact, ResolvedImage } from "../registry/registry.ts";

/** A download that waits longer, such as for the night, asks again, in milliseconds. */
const MAX_AGE_MS = 600_000;
/** More than are priced and not yet downloaded at one time, but for groups of many apps. */
const MAX_ANSWERS = 32;

type ImageName = Pick<ResolvedImage, "registry" | "repository" | "digest">;

interface Answer {
  readonly at: number;
  readonly found: FoundArtifact | undefined;
}

/**
 * What registries have answered about the index beside an image when a download was priced, until that download: it takes up
 * to three requests. Each answer is used once, so that the next download asks again.
 */
export class KnownIndexes {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #answers = new Map<string, Answer>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Keeps an answer for the download of the image for an app. */
  keep(app: string, image: ImageName, found: FoundArtifact | undefined): void {
    const key = keyOf(app, image);
    this.#answers.delete(key);
    this.#answers.set(key, { at: this.#clock.monotonic(), found });
    const [oldest = key] = this.#answers.keys();
    if (this.#answers.size > MAX_ANSWERS) this.#answers.delete(oldest);
  }

  /** Returns the answer and forgets it. */
  take(app: string, image: ImageName): Pick<Answer, "found"> | undefined {
    const key = keyOf(app, image);
    const answer = this.#answers.get(key);
    this.#answers.delete(key);
    return answer && this.#clock.monotonic() - answer.at <= MAX_AGE_MS ? answer : undefined;
  }
}

function keyOf(app: string, { registry, repository, digest }: ImageName): string {
  return `${app} ${registry}/${repository}@${digest}`;
}
