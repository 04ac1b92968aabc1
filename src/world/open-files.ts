/** How many files and sockets this process may have open at once; null where the system does not say. */
export function openFilesMax(): number | null {
  const { userLimits } = (process.report?.getReport() ?? {}) as {
    readonly userLimits?: { readonly open_files?: { readonly soft: number | 'unlimited' } };
  };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : null;
}
