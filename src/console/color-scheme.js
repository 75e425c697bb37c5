// Sets the colour scheme before the first paint. The key and the attribute are those of Mantine.
(function () {
  let scheme = "auto";
  try {
    scheme = localStorage.getItem("mantine-color-scheme-value") || scheme;
  } catch {
    // Storage is blocked: the system's scheme.
  }
  if (scheme !== "light" && scheme !== "dark")
    scheme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.setAttribute("data-mantine-color-scheme", scheme);
})();
