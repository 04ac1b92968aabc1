/** The limit of open files and sockets of this process; null where the system does not tell. */
export function openFilesMax(): number | null {
  const { userLimits } = (process.report?.getReport() ?? {}) as {
    readonly userLimits?: { readonly open_files?: { readonly soft: number | 'unlimited' } };
  };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : null;
}
