const KEY = "reloaded-at";
const MIN_INTERVAL_MS = 60_000;

/** Reloads the page when a part of it is no longer on the server, which was updated meanwhile. Not more than once a minute. */
export function reloadAfterUpdate(): void {
  window.addEventListener("vite:preloadError", (event) => {
    if (Date.now() - Number(sessionStorage.getItem(KEY)) < MIN_INTERVAL_MS) return;
    sessionStorage.setItem(KEY, String(Date.now()));
    event.preventDefault();
    location.reload();
  });
}
