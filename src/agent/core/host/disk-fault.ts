/**
 * Describes why the state directory cannot be written.
 *
 * @param code the system's error code
 * @param user that the agent runs as
 */
export function describeDiskFault(
  code: string,
  directory: string,
  user: string,
): { readonly text: string; readonly next: string } {
  switch (code) {
    case "EROFS":
      return {
        text: `The file system of ${directory} is read-only.`,
        next: `See why: sudo dmesg | grep -i -e error -e remount; try: sudo mount -o remount,rw "$(findmnt -no TARGET -T ${directory})"; if it comes back, replace the disk or SD card`,
      };
    case "ENOSPC":
    case "EDQUOT":
      return {
        text: `The file system of ${directory} is full.`,
        next: `Free space there: df -h ${directory}, and df -i ${directory} for the number of files; sudo journalctl --vacuum-size=50M; sudo docker system df shows what images take`,
      };
    case "EACCES":
    case "EPERM":
      return {
        text: `${directory} cannot be written by ${user}.`,
        next: `sudo chown -R ${user}: ${directory}`,
      };
    default:
      return {
        text: `${directory} cannot be written (${code}).`,
        next: "The disk or SD card fails: sudo dmesg | grep -i error; replace it",
      };
  }
}
