-- Reads the clock and counts the reads.
local function hot()
  for _ = 1, 1000 do os.time() end
  return 1000
end
local stop = os.time() + math.ceil(tonumber(arg[#arg]))
local n = 0
while os.time() <= stop do n = n + hot() end
print("hot " .. n)
