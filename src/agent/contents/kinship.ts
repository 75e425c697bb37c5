/**
 * Tells how likely an image shares contents with those of a repository: 2 if it is of the repository, 1 if it is of one with the
 * same path in another registry, such as a mirror or the registry before a move, otherwise 0.
 *
 * @param names of the image, as the engine has them, with tags or digests
 * @param repository such as `docker.io/library/nginx`
 */
export function kinship(names: readonly string[], repository: string): 0 | 1 | 2 {
  const wanted = splitRepository(repository);
  let closest: 0 | 1 = 0;
  for (const name of names) {
    const { registry, path } = splitRepository(name.replace(/@.*$/, "").replace(/:[^:/]*$/, ""));
    if (path !== wanted.path) continue;
    if (registry === wanted.registry) return 2;
    closest = 1;
  }
  return closest;
}

/** Engines leave out Docker Hub, and its folder of official images. */
function splitRepository(name: string): { readonly registry: string; readonly path: string } {
  const [first = "", ...rest] = name.split("/");
  const hasRegistry = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  const registry = hasRegistry ? first : "docker.io";
  const path = hasRegistry ? rest.join("/") : name;
  return { registry, path: registry === "docker.io" ? path.replace(/^library\//, "") : path };
}
