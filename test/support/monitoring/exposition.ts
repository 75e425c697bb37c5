/** One sample of the Prometheus text format. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Parses the text of `GET /metrics`. */
export function parseExposition(text: string): Sample[] {
  return text.split("\n").flatMap((line) => {
    const match = /^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!match || line.startsWith("#")) return [];
    const labels = [...(match[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
    const value = match[3] === "+Inf" ? Infinity : Number(match[3]);
    return [{ name: match[1] ?? "", labels: Object.fromEntries(labels.map(([, key, text_]) => [key, text_])), value }];
  });
}

/** Returns the sum of the samples with this name and these labels; `undefined` if there is none. */
export function sumOf(
  samples: readonly Sample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const found = samples.filter(
    (sample) => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
}
